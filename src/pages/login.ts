import { type Html, html } from './html.ts';
import { layout } from './layout.ts';

export type LoginProps = {
  readonly formToken: string;
  readonly returnTo: string;
  readonly email?: string;
  readonly notice?: string | undefined;
};

export function loginPage({ formToken, returnTo, email = '', notice }: LoginProps): Html {
  return layout(
    'Sign in',
    html`<h1>Sign in</h1>
${notice && html`<p class="notice" role="alert">${notice}</p>`}
<form method="post" action="/login">
<input type="hidden" name="form_token" value="${formToken}">
<input type="hidden" name="return_to" value="${returnTo}">
<label>E-mail
<input type="email" name="email" value="${email}" autocomplete="username" required autofocus maxlength="254">
</label>
<label>Password
<input type="password" name="password" autocomplete="current-password" required maxlength="256">
</label>
<div class="actions"><button class="primary">Sign in</button></div>
</form>`,
  );
}
