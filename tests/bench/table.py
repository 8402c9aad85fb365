"""The tables of docs/performance.md: one for each class of processors. A run replaces only that of its class."""

import statistics

# Flag of /proc/cpuinfo, name, and class: by the instructions that training in bfloat16 uses.
INSTRUCTIONS = (("amx_bf16", "AMX", "amx"), ("avx512_bf16", "AVX512-BF16", "avx512-bf16"), ("avx512f", "AVX-512 without BF16", "no-bf16"),
                ("avx2", "AVX2", "no-bf16"))


class Processor:
    def __init__(self, cpuinfo, denies_amx=False):
        fields = [tuple(map(str.strip, line.partition(":")[::2])) for line in cpuinfo.splitlines()]
        models = [value for name, value in fields if name == "model name"] or ["unknown processor"]
        flags = set(next((value for name, value in fields if name == "flags"), "").split())
        self.count, self.model = len(models), models[0]
        denied = {"amx_bf16"} & flags if denies_amx else set()
        self.instructions, self.kind = next(((name, kind) for flag, name, kind in INSTRUCTIONS if flag in flags - denied), ("no AVX2", "no-bf16"))
        self.name = f"{self.model}, {self.instructions}{' (AMX denied)' if denied else ''}"
        self.has_bf16 = self.kind != "no-bf16"


def middle(values):
    """The mean without the fastest and the slowest run, as MLPerf Training averages times to accuracy: of three runs the median."""
    kept = sorted(values)[1:-1] if len(values) > 2 else values
    return statistics.mean(kept)


def shown(value, unit):
    if unit == "bytes":
        return f"{value / 1e6:,.0f} MB"
    return f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.3g} {unit}"


def line_of(row):
    """`row` is what Row.measure() returns."""
    average = middle if row["mlperf"] else statistics.median
    ours = average(row["ours"])

    def times(peer, bold=""):
        if peer not in row["peers"]:
            return "-"
        values = row["peers"][peer]
        ratios = [a / b if row["faster"] else b / a for a, b in zip(row["ours"], values)]
        # For times to accuracy the quotient of the averages, else the median of the pairs.
        ratio = average(values) / ours if row["mlperf"] else statistics.median(ratios)
        return f"{bold}{ratio:.2f}{bold} ({min(ratios):.2f} to {max(ratios):.2f}; {len(ratios)})"

    if row["asked"] is None:
        asked = "-"
    else:
        asked = f"≥ {row['asked']:g}" if row["peers"] else f"≤ {row['asked']:g} {row['unit']}"
    what = f"{row['what']} ({row['remark']})" if row["remark"] else row["what"]
    beside = shown(average(row["peers"]["beside"]), row["unit"]) if row["peers"] else f"- ({len(row['ours'])} runs)"
    cells = (what, shown(ours, row["unit"]), beside, times("beside", "**"), asked, times("tuned"), times("tutorial"), row["processor"])
    return f"| {' | '.join(cells)} |"


def table_of(machine, rows):
    """`machine`: processors, date and versions of the measurement."""
    lines = [f"{machine['date']}, {machine['processors']}; {machine['tandem']}; PyTorch {machine['pytorch']}", "",
             "| work; beside | tandem | strongest peer | times as good (least to most; pairs) | asked | than tuned | than the tutorial's | "
             "processor |", "|---|---|---|---|---|---|---|---|", *map(line_of, rows), "", "```text"]
    for row in rows:
        lines += [f"# {row['name']}", *row["commands"]]
    return "\n".join([*lines, "```"])


def markers(kind):
    return f"<!-- begin: table {kind}, written by make bench -->", f"<!-- end: table {kind} -->"


def replace_table(text, kind, table):
    """The document with `table` between the markers of a class of processors."""
    begin, end = markers(kind)
    if text.count(begin) != 1 or text.count(end) != 1:
        raise SystemExit(f"bench: --document: expected one line '{begin}' and one '{end}'")
    before, rest = text.split(begin)
    return before + begin + "\n" + table + "\n" + end + rest.split(end)[1]
