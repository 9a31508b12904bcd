"""Seeded data generators of the papers."""

from rlselect.simulate._adherence import AdherenceStudy as AdherenceStudy
from rlselect.simulate._adherence import make_adherence as make_adherence
