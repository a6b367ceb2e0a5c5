import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';

export function homePage({
  userEmail,
  formToken,
}: {
  readonly userEmail?: string;
  readonly formToken: string;
}): Html {
  return gateLayout(
    'Welcome',
    userEmail
      ? html`<h1>Signed in</h1>
<p>You are signed in as ${userEmail}.</p>
<form method="post" action="/logout">
<input type="hidden" name="form_token" value="${formToken}">
<div class="actions"><button>Sign out</button></div>
</form>`
      : html`<h1>Postern</h1>
<p>This service lets applications act for you, with your consent. <a href="/login">Sign in</a></p>`,
  );
}
