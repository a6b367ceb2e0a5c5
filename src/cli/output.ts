import type { Command } from 'commander';
import { ConfigError } from '../config.ts';
import { UNPRINTABLE } from '../protocol/name.ts';

/** A command could not do what was asked. The message is for a person: what happened, and what to do next. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
}

/** Why a port could not be had, and which setting names another. */
export function explainListenError(host: string, port: number, setting: string) {
  return (error: NodeJS.ErrnoException): never => {
    const where = `${host}:${port}`;
    if (error.code === 'EADDRINUSE')
      throw new CommandFailed(`${where} is in use. Stop what listens there, or set ${setting}.`);
    if (error.code === 'EACCES')
      throw new CommandFailed(`This account may not listen on ${where}. Set ${setting} to 1024 or more.`);
    if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
      throw new CommandFailed(
        `${host} is no address of this machine. Set ${setting.replace('PORT', 'HOST')}.`,
      );
    throw error;
  };
}

/** What a command has to say: to a person, and to a script that asked with --json. */
export type Result = { readonly text: string; readonly json: unknown };

/** Every fault of a command's input at once. */
export function failOn(faults: readonly string[], consequence: string): void {
  if (faults.length === 0) return;
  throw new CommandFailed(`${consequence}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
}

/** A command that only holds others. */
export function addGroup(program: Command, name: string, description: string): Command {
  return errorsAsAsked(program.command(name).description(description).helpCommand(false));
}

/** Gives a command its work, and --json: the result is printed in the form asked for, and so is a failure. */
export function addAction<Given extends unknown[]>(
  command: Command,
  work: (...given: Given) => Promise<Result>,
): void {
  errorsAsAsked(command).option('--json', 'print JSON, errors included');
  command.action(async (...given) => {
    const asJson = command.opts<{ json?: true }>().json === true;
    try {
      const { text, json } = await work(...(given as Given));
      print(asJson ? toJson(json) : `${text}\n`);
    } catch (error) {
      const inWords = error instanceof CommandFailed || error instanceof ConfigError;
      if (!asJson || !inWords) throw error;
      process.stderr.write(errorJson(error.message));
      process.exitCode = 1;
    }
  });
}

/** Commander refuses a command line (a missing option, say) before --json is known, so the line itself is looked at. */
function errorsAsAsked(command: Command): Command {
  if (!process.argv.includes('--json')) return command;
  return command.showHelpAfterError(false).configureOutput({
    outputError: (text, write) => write(errorJson(text.replace(/^error: /, '').trim())),
  });
}

function print(text: string): void {
  // `… | head` closes its end when it has enough: no reason to complain.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  process.stdout.write(text);
}

const errorJson = (message: string): string => `${escaped(JSON.stringify({ error: message }))}\n`;

const toJson = (value: unknown): string => `${escaped(JSON.stringify(value, null, 2))}\n`;

/** JSON leaves DEL and the C1 controls as they are, and a terminal may obey them. */
function escaped(json: string): string {
  return json.replaceAll(/[\x7f-\x9f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`);
}

const ALL_UNPRINTABLE = new RegExp(UNPRINTABLE, 'gu');

/** Names come from strangers as well: one must not be able to drive the operator's terminal. */
export const printable = (text: string): string => text.replaceAll(ALL_UNPRINTABLE, '\ufffd');

/** An argument of a command that a person may paste: what a stranger chose must not become a command of its own. */
export const shellWord = (text: string): string =>
  /^[\w@.+-]+$/.test(text) ? text : `'${printable(text).replaceAll("'", "'\\''")}'`;

/** A table with a heading. `whenEmpty` says what to type to have something to list. */
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

/** Columns a text takes on a terminal: East Asian characters and emoji take two. */
function width(text: string): number {
  let columns = 0;
  for (const { segment } of GRAPHEMES.segment(text)) columns += WIDE.test(segment) ? 2 : 1;
  return columns;
}

export const isoTime = (time: number): string => new Date(time).toISOString();

export const readableTime = (time: number): string => `${isoTime(time).slice(0, 16).replace('T', ' ')} UTC`;
