#include "sections.hpp"

namespace tandem::report {
namespace {

// Colors of curves: Okabe and Ito, "Color Universal Design" (2008), distinct
// for color-blind readers, too. The second eight curves are dashed. A box that
// scrolls sideways has a shadow on each side with hidden columns: the first two
// layers of its background move with the table and cover the shadows at its
// ends.
constexpr char kStyle[] = R"(
:root { color-scheme: light dark; --ground: #fff; --ink: #1b1f24; --faint: #5d6670; --line: #d5dae0; --box: #f6f8fa; --shadow: #0005;
  --c0: #0072b2; --c1: #d55e00; --c2: #00805e; --c3: #b0568e; --c4: #a87800; --c5: #2f8fc4; --c6: #6b6bd6; --c7: #6e6e6e; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171b; --ink: #e6e9ed; --faint: #9aa4af; --line: #39414a; --box: #1d2228; --shadow: #fff5;
    --c0: #4aa8e0; --c1: #f08a45; --c2: #35c79b; --c3: #e59cc8; --c4: #e6b93c; --c5: #8fd0f5; --c6: #a5a5ff; --c7: #b5b5b5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem clamp(1rem, 2vw, 2.5rem); max-width: 130rem; background: var(--ground); color: var(--ink);
  font: 0.95rem/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 0.6rem; } h3 { font-size: 1rem; margin: 0 0 0.4rem; }
p { margin: 0.4rem 0; max-width: 70rem; } small, header p, .tile p { color: var(--faint); }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1rem; }
.scroll { overflow-x: auto; overflow-wrap: break-word; border: 1px solid var(--line); border-radius: 6px; max-width: max-content;
  background: linear-gradient(90deg, var(--ground) 40%, transparent) 0 0 / 3rem 100% no-repeat local,
    linear-gradient(270deg, var(--ground) 40%, transparent) 100% 0 / 3rem 100% no-repeat local,
    linear-gradient(90deg, var(--shadow), transparent) 0 0 / 0.9rem 100% no-repeat,
    linear-gradient(270deg, var(--shadow), transparent) 100% 0 / 0.9rem 100% no-repeat; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
th { font-weight: 600; } tr:last-child th, tr:last-child td { border-bottom: 0; } td { min-width: 4rem; max-width: 30rem; }
.ranks th, .ranks td { white-space: nowrap; } .system small { display: block; } .system th:first-child { white-space: normal; min-width: 9rem; }
.scroll + .charts { margin-top: 1.2rem; } details { margin-top: 0.5rem; } details > .scroll { margin-top: 0.5rem; }
summary { cursor: pointer; }
.state { font-weight: 600; } .completed { color: var(--c2); } .failed { color: var(--c1); } .running { color: var(--c0); }
.headline h2 { position: absolute; clip-path: inset(50%); } .warning { border-left: 4px solid var(--c1); padding-left: 0.8rem; }
.tiles { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 16rem), 1fr)); margin: 1rem 0; }
.tile { border: 1px solid var(--line); border-radius: 6px; padding: 0.7rem 1rem; }
.tile strong { display: block; font-size: 2.1rem; line-height: 1.25; font-variant-numeric: tabular-nums; } .tile .words { font-size: 1.35rem; text-wrap: balance; }
.best { font-weight: 700; color: var(--c2); }
.charts { display: grid; gap: 1.2rem 1.5rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); }
.choice > input { position: absolute; opacity: 0; }
.choice > label { display: inline-block; padding: 0.15rem 0.8rem; margin: 0 0.4rem 0.4rem 0; border: 1px solid var(--line); border-radius: 6px; cursor: pointer; }
.choice > input:checked + label { background: var(--ink); color: var(--ground); } .choice > input:focus-visible + label { outline: 2px solid var(--c0); }
#over-steps:not(:checked) ~ .over-steps, #over-epochs:not(:checked) ~ .over-epochs, #over-time:not(:checked) ~ .over-time { display: none; }
@media (min-width: 64rem) { .results { grid-template-columns: repeat(6, minmax(0, 1fr)); } .results figure { grid-column: span 2; }
  .results figure:nth-child(-n + 2) { grid-column: span 3; } }
.charts figure { margin: 0; min-width: 0; } figcaption { font-weight: 600; } figcaption small { font-weight: 400; }
.plot { display: grid; grid-template-columns: 4.6rem minmax(0, 1fr); grid-template-rows: 13rem 1.5rem; padding: 0.6rem 1.6rem 0 0; }
.plot svg { width: 100%; height: 100%; display: block; overflow: visible; border: 1px solid var(--line); }
.plot path { fill: none; stroke: currentColor; stroke-width: 1.4px; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.plot .grid { color: var(--line); stroke-width: 1px; }
.plot .dots { stroke-width: 6px; stroke-linecap: round; }
.plot .mark { color: var(--faint); stroke-dasharray: 4 4; stroke-width: 1px; } .pale { opacity: 0.35; } .pale path { stroke-width: 1px; }
.again path { stroke-dasharray: 5 3; }
.plot svg, .over { grid-area: 1 / 2; } .ends { grid-area: 1 / 3; width: 3rem; }
.over { pointer-events: none; } .over span { position: absolute; top: -0.15rem; padding-left: 0.2rem; white-space: nowrap; }
.y, .x, .ends, .over { position: relative; font-size: 0.78rem; color: var(--faint); font-variant-numeric: tabular-nums; }
.ends span { position: absolute; left: 0.3rem; line-height: 1; transform: translateY(50%); white-space: nowrap; font-weight: 600; }
.y span { position: absolute; right: 0.4rem; transform: translateY(50%); white-space: nowrap; }
.x { grid-area: 2 / 2; } .x span { position: absolute; top: 0.15rem; transform: translateX(-50%); white-space: nowrap; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.c4 { color: var(--c4); } .c5 { color: var(--c5); } .c6 { color: var(--c6); } .c7 { color: var(--c7); }
.key { list-style: none; display: flex; flex-wrap: wrap; gap: 0 1rem; margin: 0.2rem 0 0.6rem; padding: 0; font-size: 0.85rem; }
.key li::before { content: ""; display: inline-block; width: 1rem; margin-right: 0.35rem; vertical-align: middle;
  border-top: 3px solid currentColor; } .key .again::before { border-top-style: dashed; }
.bar { width: 12rem; height: 0.9rem; display: block; } .bar rect { fill: currentColor; }
.answers { display: flex; flex-wrap: wrap; gap: 1.2rem 2.5rem; } .answers > div { max-width: 100%; } .answers > .grows { flex: 1 1 26rem; }
.shares td:nth-child(2) { padding: 0; } .shares .shade { min-width: 11rem; }
.confusion td { padding: 0; min-width: 2.6rem; text-align: right; } .shade { display: block; padding: 0.25rem 0.5rem; }
.confusion td:last-child { padding: 0.25rem 0.5rem; white-space: nowrap; }
.images { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr)); }
.images figure { margin: 0; } .images figcaption { font-weight: 400; font-size: 0.85rem; }
.images img { width: 6rem; height: 6rem; image-rendering: pixelated; object-fit: contain; display: block; }
code { font-family: ui-monospace, monospace; } .run { border-top: 3px solid var(--line); margin-top: 2.5rem; }
@media print { html { font-size: 10px; } .choice > label { display: none; } body { max-width: none; padding: 0; }
  .charts { grid-template-columns: 1fr 1fr; } figure, tr, .tile, .answers > div { break-inside: avoid; } h2, h3 { break-after: avoid; } }
)";

}  // namespace

Html page_style() { return element("style", Html::literal(kStyle)); }

}  // namespace tandem::report
