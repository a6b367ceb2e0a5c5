import type { App } from '../app.ts';
import { invalidCsrfTokenResponse } from '../http/error-pages.ts';
import { type HtmlResponseOptions, htmlResponse } from '../http/html-response.ts';
import type { Handler, HttpRequest } from '../http/request.ts';
import { type HttpResponse, withHeaders } from '../http/response.ts';
import type { Html } from '../pages/html.ts';
import { messagePage } from '../pages/message.ts';
import { Browser } from './browser.ts';

export type PublicRequest = {
  readonly http: HttpRequest;
  readonly browser: Browser;
  /** Fields of the posted form; empty for a GET. */
  readonly form: ReadonlyMap<string, string>;
  /** Responds with a page, given the CSRF token of its form. */
  readonly show: (content: (csrfToken: string) => Html, options?: HtmlResponseOptions) => HttpResponse;
};

/** Requires no session, but a CSRF token on POST (else 403). */
export function publicPage(
  handler: (app: App, request: PublicRequest) => Promise<HttpResponse> | HttpResponse,
): Handler {
  return async (app, http) => {
    const browser = new Browser(app, http);
    const form = browser.checkedForm();
    if (!form) return invalidCsrfTokenResponse(http);
    const show = (content: (csrfToken: string) => Html, options: HtmlResponseOptions = {}): HttpResponse => {
      const response = htmlResponse(content(browser.csrfToken()), options);
      // Mailed links lead to these pages and contain a token: no Referer may disclose it.
      return withHeaders(response, { 'referrer-policy': 'no-referrer', ...browser.headers() });
    };
    return handler(app, { http, browser, form, show });
  };
}

export function tooManyMails({ show }: PublicRequest, waitSeconds: number): HttpResponse {
  const minutes = Math.ceil(waitSeconds / 60);
  const content = messagePage({
    title: 'Please wait a little',
    paragraphs: [
      `Too many mails were asked for from your network. Try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`,
    ],
  });
  return show(() => content, { status: 429, headers: { 'retry-after': String(waitSeconds) } });
}

/** The same for a link that was used, has expired or never existed: the difference is not disclosed. */
export function deadLink(
  { show }: PublicRequest,
  next: { readonly path: string; readonly label: string },
): HttpResponse {
  const content = messagePage({
    title: 'This link no longer works',
    paragraphs: ['It was used already or has expired. Each link works once and for a short time.'],
    next,
  });
  return show(() => content, { status: 400, diagnostics: { reason: 'dead_link' } });
}
