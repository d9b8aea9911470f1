/*
 * The page's style: one column that no window is too narrow for, light and dark.
 * Figures are drawn for white paper; in the dark their lightness is turned round
 * and their hues stay. Colours have a contrast of at least 4.5 to the ground.
 */
#include "harness/report/report_html_parts.h"

const char wp_report_html_style[] =
    ":root{color-scheme:light dark;--ink:#1b1b1b;--ground:#fff;--quiet:#555;--line:#ccc;"
    "--card:#f5f6f7;--good:#0a6636;--bad:#a8101c;--bar:#b04a00}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e8e8e8;--ground:#14171a;--quiet:#b0b6bd;"
    "--line:#444b52;--card:#1e2327;--good:#6fd19a;--bad:#ff9a9a;--bar:#ff9d57}\n"
    "figure svg{filter:invert(1) hue-rotate(180deg)}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;padding:1rem;max-width:70rem;background:var(--ground);color:var(--ink);"
    "font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n"
    "h1,h2,h3{line-height:1.2}\n"
    "a{color:inherit}\n"
    ".box{overflow-x:auto;margin:1rem 0;border:1px solid var(--line)}\n"
    "table{border-collapse:collapse;width:100%;font-size:.9rem;overflow-wrap:normal}\n"
    "caption{text-align:left;padding:.5rem;color:var(--quiet)}\n"
    "th,td{text-align:left;vertical-align:top;padding:.3rem .5rem;border-top:1px solid "
    "var(--line)}\n"
    "thead th{background:var(--card)}\n"
    ".n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    ".agrees,.yes{color:var(--good)}\n"
    ".differs,.no{color:var(--bad);font-weight:bold}\n"
    "figure{margin:1.5rem 0}\n"
    "figure .box{background:#fff}\n"
    "figure svg{display:block;width:100%;min-width:34rem;height:auto;background:#fff}\n"
    "figcaption{color:var(--quiet)}\n"
    ".strip{display:block;width:20rem;height:2.5rem;background:var(--card)}\n"
    ".strip path{fill:var(--bar)}\n"
    ".strip rect{fill:var(--quiet);opacity:.25}\n"
    "footer{margin-top:2rem;border-top:1px solid var(--line);color:var(--quiet)}\n"
    "@media print{.box{overflow:visible}}\n";
