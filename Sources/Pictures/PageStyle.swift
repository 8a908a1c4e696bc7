/// How pages look.
enum PageStyle {
    /// Colours of text have a contrast of 4.5 and more on what is behind them, those of shapes 3 and more.
    static let text: StaticString = """

        :root { color-scheme: light dark;
          --paper: #fbfaf8; --sheet: #ffffff; --ink: #1f2328; --soft: #57606a; --rule: #d8d5cf; --grid: #e9e6e0;
          --good: #1a7f4b; --bad: #b3372f; --warn: #a15c00; --main: #2f6fb3; --second: #8a4f9e; --third: #0f7a80;
          --fourth: #8c5a2b; --calm: #8b929b; }
        @media (prefers-color-scheme: dark) { :root {
          --paper: #14171b; --sheet: #1b1f24; --ink: #e6e3dd; --soft: #a5adb6; --rule: #353b43; --grid: #272c33;
          --good: #4fc08a; --bad: #f0857b; --warn: #e0a04a; --main: #6fb1ee; --second: #c795dc; --third: #4cc3c9;
          --fourth: #d0a070; --calm: #7f8893; } }
        * { box-sizing: border-box; }
        html { -webkit-text-size-adjust: 100%; }
        body { margin: 0 auto; max-width: 76rem; padding: 2.5rem 1.25rem 5rem; background: var(--paper); color: var(--ink);
          font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif;
          font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
        h1 { font-size: 1.9rem; line-height: 1.2; font-weight: 650; margin: 0 0 .4rem; letter-spacing: -.01em; }
        h2 { font-size: 1.25rem; font-weight: 620; margin: 0 0 .75rem; }
        h3 { font-size: .95rem; font-weight: 620; margin: 1.1rem 0 .25rem; }
        p { margin: .4rem 0 .8rem; max-width: 48rem; }
        .lead, .axes, .soft { color: var(--soft); }
        a { color: var(--main); text-underline-offset: .15em; }
        :focus-visible { outline: 2px solid var(--main); outline-offset: 2px; border-radius: 3px; }
        .skip { position: absolute; left: -99rem; } .skip:focus { position: static; }
        .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
        nav ul { list-style: none; padding: 0; margin: .5rem 0 0; display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; }
        section { background: var(--sheet); border: 1px solid var(--rule); border-radius: 10px; margin: 1.5rem 0 0;
          padding: 1.25rem 1.25rem 1.4rem; }
        code, pre { font-family: ui-monospace, "DejaVu Sans Mono", "Noto Sans Mono", monospace; font-size: .86em; }
        pre { white-space: pre-wrap; margin: .5rem 0; padding: .7rem .9rem; background: var(--paper); border-radius: 6px;
          border: 1px solid var(--grid); }
        .command { background: var(--paper); border: 1px solid var(--grid); border-radius: 4px; padding: .1em .4em; }
        .figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.2rem, 1fr)); gap: .75rem; margin: 0 0 1rem; }
        .figures div { border-left: 3px solid currentColor; padding: .1rem 0 .1rem .7rem; }
        .figures dt { color: var(--soft); font-size: .88rem; } .figures dd { margin: 0; font-size: 1.5rem; font-weight: 620;
          line-height: 1.25; color: var(--ink); }
        .wide { overflow-x: auto; margin: .5rem 0; }
        table { border-collapse: collapse; font-size: .92rem; }
        caption { text-align: left; color: var(--soft); padding: 0 0 .35rem; }
        th, td { text-align: left; vertical-align: top; padding: .3rem 1.6rem .3rem 0; border-bottom: 1px solid var(--grid);
          overflow-wrap: normal; }
        thead th { color: var(--soft); font-weight: 500; border-bottom-color: var(--rule); white-space: nowrap; }
        tbody th { font-weight: 500; } th.n, td.n { text-align: right; white-space: nowrap; } .none { color: var(--soft); }
        .matrix th, .matrix td { padding: .3rem .6rem; border: 1px solid var(--grid); }
        .matrix td[class] { color: var(--ink); border-left: 4px solid var(--tone); }
        details { margin: .35rem 0; } summary { cursor: pointer; color: var(--soft); width: fit-content; max-width: 100%; }
        summary:hover { color: var(--ink); } details.sql, details.fold { font-size: .92rem; }
        .log summary { color: var(--ink); width: auto; padding: .15rem 0; } .log details { margin: 0; border-bottom: 1px solid var(--grid); }
        .log b { font-weight: 560; } .log .when { color: var(--soft); margin-right: .6em; } .log .word { color: var(--tone); }
        figure { margin: .5rem 0 1rem; } figcaption { color: var(--soft); margin: 0 0 .4rem; }
        svg { display: block; width: 100%; height: 100%; overflow: visible; }
        .key { list-style: none; display: flex; flex-wrap: wrap; gap: .15rem 1rem; margin: 0 0 .5rem; padding: 0; font-size: .88rem;
          color: var(--soft); }
        .swatch { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; background: var(--tone); }
        .t-good { --tone: var(--good); } .t-bad { --tone: var(--bad); } .t-warn { --tone: var(--warn); }
        .t-main { --tone: var(--main); } .t-second { --tone: var(--second); } .t-third { --tone: var(--third); }
        .t-fourth { --tone: var(--fourth); } .t-calm { --tone: var(--calm); }
        .figures div { color: var(--tone); }
        svg .t-good, svg .t-bad, svg .t-warn, svg .t-main, svg .t-second, svg .t-third, svg .t-fourth, svg .t-calm { fill: var(--tone); }
        svg .grid { stroke: var(--grid); fill: none; vector-effect: non-scaling-stroke; }
        svg .moment { stroke: var(--tone); fill: none; stroke-width: 1.5; vector-effect: non-scaling-stroke; }
        svg .line { stroke: var(--tone); fill: none; stroke-width: 1.75; stroke-linejoin: round; vector-effect: non-scaling-stroke; }
        svg .dashed { stroke-dasharray: 6 4; stroke-width: 1.25; } svg .shade { opacity: .22; }
        .strip { display: grid; grid-template-columns: minmax(7rem, 16rem) 1fr; gap: 0 1rem; align-items: center; margin: .2rem 0; }
        .strip .name { font-size: .88rem; line-height: 1.25; display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 .6rem; }
        .strip small { color: var(--soft); font-size: inherit; }
        .band { position: relative; height: 1.6rem; background: var(--paper); border-radius: 3px; }
        .strip.scale .band { background: none; } .scale .name { color: var(--soft); }
        .note { position: absolute; left: .5rem; top: .15rem; font-size: .82rem; color: var(--soft); }
        .tick, .level { position: absolute; font-size: .78rem; color: var(--soft); white-space: nowrap; }
        .tick { transform: translateX(-50%); } .tick.first { transform: none; } .tick.last { transform: translateX(-100%); }
        .level { right: .4rem; transform: translateY(-50%); }
        .frame { display: grid; grid-template: 15rem 1.4rem / 3.2rem 1fr; max-width: 56rem; padding-top: .6rem; }
        .small .frame { grid-template-rows: 8rem 1.4rem; max-width: 40rem; }
        .up, .across { position: relative; } .across { grid-column: 2; } .axes { font-size: .82rem; margin: .1rem 0 0 3.2rem; }
        @media (max-width: 40rem) { body { padding: 1.25rem .75rem 3rem; } section { padding: 1rem .8rem; border-radius: 8px; }
          h1 { font-size: 1.5rem; } .strip { grid-template-columns: 1fr; } .strip.scale .name { display: none; }
          .frame { grid-template-columns: 2.6rem 1fr; } .tick { font-size: .72rem; } .scale .tick:nth-child(even) { display: none; } }
        @media print { .fold::details-content { content-visibility: visible; display: block; } body { padding: 0; max-width: none; font-size: 10pt; background: none; } section { border: 0; padding: 0;
          break-inside: auto; } nav, .skip, details.sql { display: none; } .wide { overflow: visible; }
          figure, tr, .strip { break-inside: avoid; } * { print-color-adjust: exact; } }
        @page { margin: 16mm; }

        """
}
