import type { App } from '../app.ts';
import { formOf } from '../http/form.ts';
import { htmlResponse } from '../http/html-response.ts';
import type { Handler, HttpRequest } from '../http/request.ts';
import { type HttpResponse, redirect } from '../http/response.ts';
import type { Frame } from '../pages/layout.ts';
import { messagePage } from '../pages/message.ts';
import type { User } from '../store/users.ts';
import { Browser } from './browser.ts';
import { loginPath } from './return-to.ts';

/** A request of somebody who is signed in; a posted form has proven to be one of ours. */
export type UserRequest = {
  readonly http: HttpRequest;
  readonly browser: Browser;
  readonly user: User;
  /** The fields of the posted form; empty for a GET. */
  readonly form: ReadonlyMap<string, string>;
  readonly frame: Frame;
};

/**
 * The door to every page of the account and the dashboard. Without a session: to the sign-in
 * page and back, with a form to the page it stood on. A form without its token: 403, and nothing done.
 */
export function requireUser(
  handler: (app: App, request: UserRequest) => Promise<HttpResponse> | HttpResponse,
  pageOfForm: (http: HttpRequest) => string = () => '/',
): Handler {
  return async (app, http) => {
    const browser = new Browser(app, http);
    const user = await browser.user();
    if (!user) return redirect(loginPath(http.method === 'POST' ? pageOfForm(http) : http.url));
    const form = http.method === 'POST' ? formOf(http) : new Map<string, string>();
    if (http.method === 'POST' && !browser.hasValidCsrfToken(form)) return outOfDate(http);
    const frame = { email: user.email, csrfToken: browser.csrfToken() };
    return handler(app, { http, browser, user, form, frame });
  };
}

function outOfDate(http: HttpRequest): HttpResponse {
  const content = messagePage({
    title: 'This form is out of date',
    paragraphs: ['Nothing was changed. Go back, reload the page and try again.'],
    requestId: http.id,
  });
  return htmlResponse(content, { status: 403, diagnostics: { reason: 'form_token' } });
}
