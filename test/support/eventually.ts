import assert from 'node:assert/strict';

/** Kept from before a test mocks timers. */
const realSetTimeout = globalThis.setTimeout;

/**
 * Polls a condition until it holds, and fails the test at the deadline. The only way for a test to wait for
 * another process or for a socket; the default deadline is far longer than any correct run needs.
 */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  deadlineMs = 20_000,
): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > end) assert.fail(`the condition does not hold after ${deadlineMs} ms`);
    await new Promise((resolve) => realSetTimeout(resolve, 20));
  }
}
