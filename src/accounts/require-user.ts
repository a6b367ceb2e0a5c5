import type { App } from '../app.ts';
import { invalidCsrfTokenResponse } from '../http/error-pages.ts';
import type { Handler, HttpRequest } from '../http/request.ts';
import { type HttpResponse, redirect } from '../http/response.ts';
import type { Frame } from '../pages/layout.ts';
import type { User } from '../store/users.ts';
import { Browser } from './browser.ts';
import { loginPath } from './return-to.ts';

/** A request of a signed-in user. */
export type UserRequest = {
  readonly http: HttpRequest;
  readonly browser: Browser;
  readonly user: User;
  /** Fields of the posted form; empty for a GET. */
  readonly form: ReadonlyMap<string, string>;
  readonly frame: Frame;
};

/**
 * Requires a session (else /login) and, on POST, a CSRF token (else 403). `pageOfForm` is where a user who posts a
 * form without a session returns to after signing in.
 */
export function requireUser(
  handler: (app: App, request: UserRequest) => Promise<HttpResponse> | HttpResponse,
  pageOfForm: (http: HttpRequest) => string = () => '/',
): Handler {
  return async (app, http) => {
    const browser = new Browser(app, http);
    const user = await browser.user();
    if (!user) return redirect(loginPath(http.method === 'POST' ? pageOfForm(http) : http.url));
    const form = browser.checkedForm();
    if (!form) return invalidCsrfTokenResponse(http);
    const frame = { email: user.email, csrfToken: browser.csrfToken() };
    return handler(app, { http, browser, user, form, frame });
  };
}
