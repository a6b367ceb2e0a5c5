import type { Command } from 'commander';
import { ConfigError } from '../config.ts';
import { UNPRINTABLE } from '../protocol/name.ts';

/** A command failed. The message tells a person what happened and what to do next. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
}

/** Says why listening failed and which setting to change. */
export function explainListenError(host: string, port: number, setting: string) {
  return (error: NodeJS.ErrnoException): never => {
    const where = `${host}:${port}`;
    if (error.code === 'EADDRINUSE')
      throw new CommandFailed(`${where} is in use. Stop the process that listens there, or set ${setting}.`);
    if (error.code === 'EACCES')
      throw new CommandFailed(
        `This account has no permission to listen on ${where}. Set ${setting} to 1024 or more.`,
      );
    if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
      throw new CommandFailed(
        `${host} is not an address of this machine. Set ${setting.replace('PORT', 'HOST')}.`,
      );
    throw error;
  };
}

/** Output of a command: text for a person, JSON for a script (--json). */
export type Result = { readonly text: string; readonly json: unknown };

/** Reports all faults of a command's input at once. */
export function failOn(faults: readonly string[], consequence: string): void {
  if (faults.length === 0) return;
  throw new CommandFailed(`${consequence}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
}

/** Adds a command that only contains subcommands. */
export function addGroup(program: Command, name: string, description: string): Command {
  return withJsonErrors(program.command(name).description(description).helpCommand(false));
}

/** Gives a command its action and the option --json, which applies to its result and to its errors. */
export function addAction<Args extends unknown[]>(
  command: Command,
  action: (...args: Args) => Promise<Result>,
): void {
  withJsonErrors(command).option('--json', 'print JSON, errors included');
  command.action(async (...args) => {
    const asJson = command.opts<{ json?: true }>().json === true;
    try {
      const { text, json } = await action(...(args as Args));
      print(asJson ? toJson(json) : `${text}\n`);
    } catch (error) {
      const isForPeople = error instanceof CommandFailed || error instanceof ConfigError;
      if (!asJson || !isForPeople) throw error;
      process.stderr.write(errorJson(error.message));
      process.exitCode = 1;
    }
  });
}

/** Commander rejects a command line (a missing option, say) before it parses --json, so this reads argv itself. */
function withJsonErrors(command: Command): Command {
  if (!process.argv.includes('--json')) return command;
  return command.showHelpAfterError(false).configureOutput({
    outputError: (text, write) => write(errorJson(text.replace(/^error: /, '').trim())),
  });
}

function print(text: string): void {
  // `… | head` closes its end early: not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  process.stdout.write(text);
}

const errorJson = (message: string): string => `${escapeControls(JSON.stringify({ error: message }))}\n`;

const toJson = (value: unknown): string => `${escapeControls(JSON.stringify(value, null, 2))}\n`;

/** JSON does not escape DEL and the C1 controls, which a terminal may interpret. */
function escapeControls(json: string): string {
  return json.replaceAll(/[\x7f-\x9f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`);
}

const ALL_UNPRINTABLE = new RegExp(UNPRINTABLE, 'gu');

/** Names are chosen by strangers: they must not control the operator's terminal. */
export const printable = (text: string): string => text.replaceAll(ALL_UNPRINTABLE, '\ufffd');

/** Quotes an argument of a command that a person may paste, so that a stranger's text cannot run as a command. */
export const shellWord = (text: string): string =>
  /^[\w@.+-]+$/.test(text) ? text : `'${printable(text).replaceAll("'", "'\\''")}'`;

/** A table with a heading. `whenEmpty` says how to create the first entry. */
export function listing(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  whenEmpty: string,
): string {
  return rows.length === 0 ? whenEmpty : table([heading, ...rows]);
}

/** Rows in aligned columns. */
export function table(rows: readonly (readonly string[])[], indent = ''): string {
  const cells = rows.map((row) => row.map(printable));
  const widths: number[] = [];
  for (const row of cells) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, width(cell));
  }
  const line = (row: readonly string[]) =>
    row.map((cell, column) => cell + ' '.repeat(widths[column]! - width(cell))).join('  ');
  return cells.map((row) => (indent + line(row)).trimEnd()).join('\n');
}

const GRAPHEMES = new Intl.Segmenter();
const WIDE =
  /\p{Emoji_Presentation}|\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|[\uff01-\uff60]/u;

/** Columns on a terminal: East Asian characters and emoji take two. */
function width(text: string): number {
  let columns = 0;
  for (const { segment } of GRAPHEMES.segment(text)) columns += WIDE.test(segment) ? 2 : 1;
  return columns;
}

export const isoTime = (time: number): string => new Date(time).toISOString();

export const readableTime = (time: number): string => `${isoTime(time).slice(0, 16).replace('T', ' ')} UTC`;
