import type { Html } from '../pages/html.ts';
import type { Diagnostics, HttpResponse } from './response.ts';

export type HtmlResponseOptions = {
  readonly status?: number;
  /** Where a form on the page may lead besides this service: Chromium applies form-action to the redirect after it. */
  readonly formTarget?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly diagnostics?: Diagnostics;
};

/** Headers of every page: nothing from elsewhere, no script or style in the page, no frame around it. */
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

/** The origin of a redirect URI as a CSP source. CSP knows no IPv6 hosts; for those only the scheme can be named. */
export function formTargetOf(redirectUri: string): string {
  const { protocol, hostname, origin } = new URL(redirectUri);
  return hostname.startsWith('[') ? protocol : origin;
}
