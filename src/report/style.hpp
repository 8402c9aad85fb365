// The style sheet of a page. It must not contain '<' or '&', which have a meaning in XML.
#pragma once

namespace tandem::report {

// Colors of curves: Okabe and Ito, "Color Universal Design" (2008), told apart by color-blind
// readers too; for the second eight the lines are dashed.
constexpr char kStyle[] = R"(
:root { color-scheme: light dark; --ground: #fff; --ink: #1b1f24; --faint: #5d6670; --line: #d5dae0; --box: #f6f8fa;
  --c0: #0072b2; --c1: #d55e00; --c2: #00805e; --c3: #b0568e; --c4: #a87800; --c5: #2f8fc4; --c6: #6b6bd6; --c7: #6e6e6e; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171b; --ink: #e6e9ed; --faint: #9aa4af; --line: #39414a; --box: #1d2228;
    --c0: #4aa8e0; --c1: #f08a45; --c2: #35c79b; --c3: #e59cc8; --c4: #e6b93c; --c5: #8fd0f5; --c6: #a5a5ff; --c7: #b5b5b5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 110rem; background: var(--ground); color: var(--ink);
  font: 0.95rem/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 0.6rem; } h3 { font-size: 1rem; }
p { margin: 0.4rem 0; max-width: 70rem; } small, header p { color: var(--faint); }
.scroll { overflow-x: auto; overflow-wrap: break-word; border: 1px solid var(--line); border-radius: 6px; max-width: max-content; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 600; background: var(--box); } tr:last-child th, tr:last-child td { border-bottom: 0; }
th, td { overflow-wrap: break-word; } td { min-width: 4rem; max-width: 30rem; }
.ranks th, .ranks td { white-space: nowrap; } .system small { display: block; } .system th:first-child { white-space: normal; min-width: 9rem; }
.scroll + .charts { margin-top: 1.2rem; } .scroll + details { margin-top: 0.5rem; } details .scroll { margin-top: 0.5rem; }
.state { font-weight: 600; } .completed { color: var(--c2); } .failed { color: var(--c1); } .running { color: var(--c0); }
.charts { display: grid; gap: 1.2rem 1.5rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); }
.charts figure { margin: 0; min-width: 0; } figcaption { font-weight: 600; } figcaption small { font-weight: 400; }
.plot { display: grid; grid-template-columns: 4.6rem minmax(0, 1fr); grid-template-rows: 13rem 1.5rem; padding: 0.6rem 1.6rem 0 0; }
.plot svg { width: 100%; height: 100%; display: block; overflow: visible; border: 1px solid var(--line); }
.plot path { fill: none; stroke: currentColor; stroke-width: 1.4px; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.plot .grid { color: var(--line); stroke-width: 1px; }
.plot .dots { stroke-width: 6px; stroke-linecap: round; }
.again path { stroke-dasharray: 5 3; }
.y, .x { position: relative; font-size: 0.78rem; color: var(--faint); font-variant-numeric: tabular-nums; }
.y span { position: absolute; right: 0.4rem; transform: translateY(50%); white-space: nowrap; }
.x { grid-column: 2; } .x span { position: absolute; top: 0.15rem; transform: translateX(-50%); white-space: nowrap; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.c4 { color: var(--c4); } .c5 { color: var(--c5); } .c6 { color: var(--c6); } .c7 { color: var(--c7); }
.key { list-style: none; display: flex; flex-wrap: wrap; gap: 0 1rem; margin: 0.2rem 0 0.6rem; padding: 0; font-size: 0.85rem; }
.key li::before { content: ""; display: inline-block; width: 1rem; margin-right: 0.35rem; vertical-align: middle;
  border-top: 3px solid currentColor; } .key .again::before { border-top-style: dashed; }
.bar { width: 12rem; height: 0.9rem; display: block; } .bar rect { fill: currentColor; }
.confusion td { padding: 0; min-width: 2.6rem; text-align: right; } .shade { display: block; padding: 0.25rem 0.5rem; }
.confusion td:last-child { padding: 0.25rem 0.5rem; white-space: nowrap; }
.images { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr)); }
.images figure { margin: 0; } .images figcaption { font-weight: 400; font-size: 0.85rem; }
.images img { image-rendering: pixelated; object-fit: contain; display: block; }
code { font-family: ui-monospace, monospace; } .run { border-top: 3px solid var(--line); margin-top: 2.5rem; }
@media print { body { max-width: none; } figure, tr { break-inside: avoid; } }
)";

}  // namespace tandem::report
