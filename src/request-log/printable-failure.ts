import type { Failure } from '../protocol/failure-reason.ts';

/** The prefixes of all credentials (protocol 5), here wherever they stand in a text. */
const CREDENTIAL = /postern_(at|rt|code|cs|rs|lb|op)_[A-Za-z0-9_-]+/g;
const SHOWN_TAIL = 4;

/**
 * A failure as it is stored. Credentials that were sent in a wrong field, or inside a URI, are masked: nothing that
 * works is ever stored. Control characters become their pictures: PostgreSQL stores no NUL.
 */
export function printableFailure({ reason, details }: Failure): Failure {
  const entries = Object.entries(details).map(([name, value]) => [
    name,
    typeof value === 'string' ? printable(value) : value,
  ]);
  return { reason, details: Object.fromEntries(entries) } as Failure;
}

const printable = (text: string): string =>
  text
    .replaceAll(
      CREDENTIAL,
      (credential, kind: string) => `postern_${kind}_***${credential.slice(-SHOWN_TAIL)}`,
    )
    .replaceAll(/\p{Cc}/gu, controlPicture);

const controlPicture = (character: string): string =>
  character < ' ' ? String.fromCharCode(0x2400 + character.charCodeAt(0)) : '\u2426';
