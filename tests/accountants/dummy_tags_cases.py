"""What the tests of dummy tags share: cases, strategies and plain evaluations."""

from hypothesis import strategies as st

rates = st.one_of(st.just(1.0), st.floats(1e-9, 1 - 1e-9), st.floats(1e-300, 1e-9))
