import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

type Result = {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
};

/** What axe-core finds on the page that would keep somebody from using it, in words. */
export async function seriousFaults(page: Page): Promise<string[]> {
  // Evaluated from outside, as the page's own policy lets no script in.
  await page.evaluate(AXE);
  const { violations } = (await page.evaluate('axe.run()')) as Result;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${help}\n  ${html}\n  ${failureSummary}`),
    );
}
