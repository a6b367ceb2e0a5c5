/** A table for the terminal and for Markdown. The first column is text, the others are figures. */
export type Table = {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
};

export function toText({ title, columns, rows }: Table): string {
  const widths = columns.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i]!.length)));
  const line = (cells: readonly string[]) =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ');
  const rule = widths.map((width) => '─'.repeat(width)).join('──');
  return `${title}\n${line(columns)}\n${rule}\n${rows.map(line).join('\n')}\n`;
}

export function toMarkdown({ columns, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = columns.map((_, i) => (i === 0 ? '---' : '---:'));
  return `${[columns, rule, ...rows].map(line).join('\n')}\n`;
}

export const whole = (value: number): string =>
  Number.isFinite(value) ? Math.round(value).toLocaleString('en-US') : '–';

/** Three significant digits. */
export const short = (value: number): string => {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 100) return whole(value);
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
};

export const ratio = (value: number): string => (Number.isFinite(value) ? value.toFixed(3) : '–');
export const times = (value: number): string => (Number.isFinite(value) ? `${short(value)}×` : '–');
export const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;
