"""Mutation operators on the text of C++ files in clang-format's layout, which has spaces around binary operators."""

import collections
import re

Mutant = collections.namedtuple("Mutant", ["operator", "begin", "end", "new"])

SWAPS = {
    "boundary": {" < ": [" <= "], " <= ": [" < "], " > ": [" >= "], " >= ": [" > "]},
    "relational": {" < ": [" >= "], " <= ": [" > "], " > ": [" <= "], " >= ": [" < "], " == ": [" != "], " != ": [" == "]},
    "logical": {" && ": [" || "], " || ": [" && "]},
    "arithmetic": {" + ": [" - "], " - ": [" + "], " * ": [" / "], " / ": [" * "], " % ": [" * "], " += ": [" -= "],
                   " -= ": [" += "], "++": ["--"], "--": ["++"]},
}
LITERAL = re.compile(r"(?<![\w.'])(\d+)(?=[UuLl]*\b)(?![.'xX\d])")
TRUTH = re.compile(r"\b(true|false)\b")
NEGATION = re.compile(r"(?<![\w=])!(?=[\w(])")
CONDITION = re.compile(r"\b(?:if|while) \(")
RETURN = re.compile(r"\breturn ([^;{}]+);")
# A call, an assignment or a jump, but no declaration.
STATEMENT = re.compile(r"^ +(?P<what>(?:::)?[\w.:>\-\[\]*]+(?:\(|(?: [+\-]?= ))[^;{}]*;|throw [^;{}]*;|break;|continue;)", re.M)
STATIC = re.compile(r"static_assert\([^;]*;")


def without_text(source):
    """The source with comments, strings, characters, preprocessor lines and static_assert blanked, of the same length."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^#(?:[^\n]*\\\n)*[^\n]*', re.S | re.M)
    blank = lambda found: re.sub(r"[^\n]", "\x00", found[0])
    return STATIC.sub(blank, pattern.sub(blank, source))


def closing(code, opening):
    """The index of the parenthesis that closes the one at `opening`."""
    depth = 0
    for place in range(opening, len(code)):
        depth += {"(": 1, ")": -1}.get(code[place], 0)
        if depth == 0:
            return place
    raise ValueError("a parenthesis is not closed")


def mutants_of(source):
    code = without_text(source)
    found = []
    for operator, swaps in SWAPS.items():
        for old, news in swaps.items():
            for place in re.finditer(re.escape(old), code):
                found += [Mutant(operator, place.start(), place.end(), new) for new in news]
    for place in LITERAL.finditer(code):
        number = int(place[1])
        found += [Mutant("constant", *place.span(1), str(each)) for each in (number + 1, number - 1) if each >= 0]
    for place in TRUTH.finditer(code):
        found.append(Mutant("constant", *place.span(), {"true": "false", "false": "true"}[place[1]]))
    for place in NEGATION.finditer(code):
        found.append(Mutant("negation", *place.span(), ""))
    for place in CONDITION.finditer(code):
        begin = place.end()
        end = closing(code, begin - 1)
        if ";" not in code[begin:end] and "const auto" not in code[begin:end]:
            found.append(Mutant("negation", begin, end, f"!({source[begin:end]})"))
    for place in RETURN.finditer(code):
        value = source[slice(*place.span(1))]
        found.append(Mutant("return", *place.span(1), "{}"))
        found.append(Mutant("return", *place.span(1), f"!({value})"))
    for place in STATEMENT.finditer(code):
        begins = code[:place.start("what")].rstrip(" \n\x00")[-1:]  # of a statement, not of a line within one
        if begins in (";", "{", "}", ")") and not place["what"].startswith("return"):
            found.append(Mutant("statement", *place.span("what"), ";"))
    return found


def apply(source, mutant):
    return source[:mutant.begin] + mutant.new + source[mutant.end:]
