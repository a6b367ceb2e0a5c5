import { after } from 'node:test';

const onlySome = process.execArgv.some((argument) => /^--test-((name|skip)-pattern|only)/.test(argument));

/** Checks what all tests of a file did, in whichever order they ran. Left out when a pattern selects only some. */
export function afterAllTests(check: () => void): void {
  if (!onlySome) after(check);
}
