"""The static verifier: proves that a container keeps the rules (rules.py) under a context descriptor (descriptors.py)."""
from .descriptors import FEMTO, LPN, PROFILES, XDP, ContextDescriptor, Field, HelperSpec, Region
from .rules import RULES, Violation
from .sections import Section
from .verify import Analysis, Report, analyse, render, verify

__all__ = ["FEMTO", "LPN", "PROFILES", "RULES", "XDP", "Analysis", "ContextDescriptor", "Field", "HelperSpec", "Region",
           "Report", "Section", "Violation", "analyse", "render", "verify"]
