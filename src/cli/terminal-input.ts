import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { passwordFault } from '../passwords/password-rules.ts';
import { CommandFailed } from './output.ts';

/** Far beyond the longest password: enough to tell that the input is something else. */
const MAX_INPUT_BYTES = 4096;

/** Undefined when the input ends first (Ctrl-C, Ctrl-D). */
export async function askLine(question: string): Promise<string | undefined> {
  const reader = createInterface({
    input: process.stdin,
    output: process.stderr,
    prompt: question,
    historySize: 0,
  });
  const lines = reader[Symbol.asyncIterator]();
  reader.prompt();
  const { value, done } = await lines.next();
  reader.close();
  if (!done) return value.trim();
  process.stderr.write('\n');
  return undefined;
}

/** The value of the option, or from standard input or the terminal, which keep it out of the shell's history. */
export async function readPassword(option: string | undefined): Promise<string> {
  if (option !== undefined && option !== '-') return option;
  if (process.stdin.isTTY) return askPassword(process.stdin, process.stderr);
  if (option === '-') return readLine(process.stdin);
  throw new CommandFailed(
    'There is no terminal to ask for the password. Pass it on standard input, with --password -',
  );
}

async function readLine(input: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of input) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_INPUT_BYTES) break;
  }
  const line = Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '');
  if (!/[\r\n]/.test(line)) return line;
  throw new CommandFailed('Standard input has more than one line. It must contain the password alone.');
}

/** Asks twice, because the password is not shown: readline edits the line, and its echo is discarded. */
export async function askPassword(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<string> {
  const discarded = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input, output: discarded, terminal: true, historySize: 0 });
  const lines = reader[Symbol.asyncIterator]();
  const ask = async (question: string): Promise<string> => {
    output.write(question);
    const { value, done } = await lines.next();
    output.write('\n');
    // Ctrl-C and Ctrl-D end the input.
    if (done) throw new CommandFailed('Cancelled. Nothing was changed.');
    return value;
  };
  try {
    const password = await ask('Password: ');
    const fault = passwordFault(password);
    if (fault) throw new CommandFailed(`${fault} Nothing was changed.`);
    if ((await ask('Repeat the password: ')) === password) return password;
    throw new CommandFailed('The passwords differ. Nothing was changed: try again.');
  } finally {
    reader.close();
  }
}
