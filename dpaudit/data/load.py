"""From a deployment's ``[data]`` section to its records."""

from dpaudit.data.corpus import Corpus
from dpaudit.data.population import Records, records_of
from dpaudit.data.texts import load_corpus
from dpaudit.deployment import Deployment
from dpaudit.errors import DataError


def load_records(deployment: Deployment) -> tuple[Corpus, Records]:
    """Return the corpus that a deployment names, and its records.

    A simulated population is drawn with ``[audit] seed``, or seed 0 where none is given: it stands
    for a data set, which is not a secret of the mechanism.

    Raises
    ------
    DataError
        If there is no ``[data]`` section, the texts cannot be read, or there would be more records
        than ``records_max``.
    """
    data = deployment.data
    if data is None:
        raise DataError(f"{deployment.source}: a [data] section that names texts is needed")
    if data.population is not None:
        _check_count(deployment, data.population, "[data] population")
    corpus = load_corpus(data.texts, column=data.column, directory=deployment.directory)
    if data.population is None:
        _check_count(deployment, len(corpus.texts), "number of texts")
    records = records_of(
        corpus, population=data.population, zipf=data.zipf, seed=deployment.audit.seed or 0
    )
    return corpus, records


def _check_count(deployment: Deployment, count: int, what: str) -> None:
    most = deployment.fre_e2t.records_max
    if count > most:
        raise DataError(
            f"{deployment.source}: {what} = {count}: "
            f"at most [fre_e2t] records_max = {most} is needed"
        )
