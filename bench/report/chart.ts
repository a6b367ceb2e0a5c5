import type { Comparison } from '../comparison.ts';
import { SCENARIOS } from '../scenarios.ts';
import { labelOf } from './comparison-tables.ts';
import { type Summary, summarize } from './summary.ts';
import { whole } from './table.ts';

const WIDTH = 860;
const LEFT = 210;
const RIGHT = 120;
const BAR = 18;
const GAP = 5;
const TITLE = 34;
const TOP = 58;

/** One colour for Postern and one for the others, readable on light and dark pages. */
const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 } .scenario { font-weight: 600 } .small { fill: #59636e; font-size: 12px }
  .postern { fill: #2f6f4f } .peer { fill: #9aa4ae } .axis { stroke: #d1d9e0 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .small { fill: #9198a1 } .postern { fill: #5fb98a } .peer { fill: #656c76 } .axis { stroke: #3d444d }
  }`;

/** Bar chart of requests per second as a share of the floor, grouped by scenario. */
export function chart(comparison: Comparison): string {
  const summaries = summarize(comparison).filter(({ server }) => server !== 'floor');
  const max = Math.max(...summaries.map(({ ofFloor }) => ofFloor.median));
  const scale = (WIDTH - LEFT - RIGHT) / Math.max(0.1, Math.ceil(max * 10) / 10);
  let y = TOP;
  const groups = SCENARIOS.flatMap(({ id, label }) => {
    const bars = comparison.servers.flatMap((server) =>
      summaries.filter((one) => one.scenario === id && one.server === server.id),
    );
    if (bars.length === 0) return [];
    const title = `<text class="scenario" x="0" y="${y + 14}">${label}</text>`;
    y += TITLE - 12;
    const drawn = bars.map((one) => {
      const svg = bar(labelOf(comparison, one.server), one, y, scale);
      y += BAR + GAP;
      return svg;
    });
    y += 12;
    return [title, ...drawn];
  });
  const axis = `<line class="axis" x1="${LEFT}" x2="${LEFT}" y1="${TOP}" y2="${y - 12}"/>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" role="img" aria-label="Requests per second as a share of bare node:http">
<style>${STYLE}
</style>
<text class="title" x="0" y="18">Requests per second, as a share of bare node:http</text>
<text class="small" x="0" y="38">${comparison.connections} connections, medians of ${comparison.rounds} interleaved rounds, longer is better</text>
${axis}
${groups.join('\n')}
</svg>
`;
}

function bar(label: string, { server, ofFloor, perSecond }: Summary, y: number, scale: number): string {
  const kind = server.startsWith('postern') ? 'postern' : 'peer';
  const length = Math.max(1, ofFloor.median * scale);
  const middle = y + BAR / 2 + 4;
  return [
    `<text x="${LEFT - 8}" y="${middle}" text-anchor="end">${label}</text>`,
    `<rect class="${kind}" x="${LEFT}" y="${y}" width="${length.toFixed(1)}" height="${BAR}" rx="2"/>`,
    `<text class="small" x="${(LEFT + length + 6).toFixed(1)}" y="${middle}">${ofFloor.median.toFixed(3)} · ${whole(perSecond.median)}/s</text>`,
  ].join('');
}
