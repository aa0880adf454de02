"""A report in JUnit's XML, as continuous-integration servers read it."""
from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree as xml

from lpn.lang.diagnostics import Diagnostic, render

from .run import Outcome
from .show import text

NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")    # XML 1.0, 2.2


def document(files: Iterable[tuple[str, list[Outcome], list[Diagnostic]]]) -> bytes:
    """One suite a file; a mistake in the file is a case of its own, in error."""
    root = xml.Element("testsuites")
    for path, outcomes, diagnostics in files:
        suite = xml.SubElement(root, "testsuite", name=clean(path), tests=str(len(outcomes) + len(diagnostics)),
                               failures=str(sum(each.failure is not None for each in outcomes)), errors=str(len(diagnostics)),
                               time=f"{sum(each.seconds for each in outcomes):.3f}")
        for each in outcomes:
            case = xml.SubElement(suite, "testcase", classname=clean(path), name=clean(each.test.name), file=clean(path),
                                  line=str(each.test.span.line), time=f"{each.seconds:.3f}")
            if each.failure is not None:
                xml.SubElement(case, "failure", message=clean(each.failure.message)).text = clean(text(each.failure))
        for one in diagnostics:
            case = xml.SubElement(suite, "testcase", classname=clean(path), name=clean(str(one.span or path)))
            xml.SubElement(case, "error", message=clean(one.message)).text = clean(render([one]))
    xml.indent(root)
    return xml.tostring(root, "utf-8", xml_declaration=True) + b"\n"


def clean(text: str) -> str:
    return NOT_XML.sub("?", text)
