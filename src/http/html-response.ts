import type { Html } from '../pages/html.ts';
import type { Diagnostics } from '../request-log/diagnostics.ts';
import type { HttpResponse } from './response.ts';

export type HtmlResponseOptions = {
  readonly status?: number;
  /** CSP source that a form may lead to besides this service: Chromium applies form-action to the redirect after it. */
  readonly formTarget?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly diagnostics?: Diagnostics;
};

/** A page with the strict CSP of all pages: nothing from other origins, no inline script or style, no framing. */
export function htmlResponse(
  content: Html,
  { status = 200, formTarget, headers, diagnostics }: HtmlResponseOptions = {},
): HttpResponse {
  const formAction = formTarget === undefined ? "'self'" : `'self' ${formTarget}`;
  return {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': `default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`,
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      ...headers,
    },
    body: content.text,
    ...(diagnostics && { diagnostics }),
  };
}

/** The origin of a redirect URI as a CSP source. CSP has no syntax for IPv6 hosts: for those, the scheme. */
export function formTargetOf(redirectUri: string): string {
  const { protocol, hostname, origin } = new URL(redirectUri);
  return hostname.startsWith('[') ? protocol : origin;
}
