import assert from 'node:assert/strict';

/** Kept from before a test mocks timers. */
const realSetTimeout = globalThis.setTimeout;
const POLL_MS = 20;
const pause = (): Promise<void> => new Promise((resolve) => realSetTimeout(resolve, POLL_MS));

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
    await pause();
  }
}

/** Repeats an attempt until it does not throw; at the deadline the test fails with the last error. */
export async function eventuallySucceeds<T>(attempt: () => T | Promise<T>, deadlineMs = 20_000): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    await pause();
  }
}

/**
 * Polls a condition that must hold within a second. On a busy machine the second counts only if there were enough
 * attempts in it, so this finds a mechanism that is broken; test/store/external-change.test.ts bounds its timing.
 */
export async function withinASecond(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 1_000;
  for (let attempts = 1; !(await condition()); attempts++) {
    assert.ok(performance.now() < end || attempts < 20, 'the condition does not hold within a second');
    await pause();
  }
}
