import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';

export function logoutPage({
  email,
  formToken,
}: {
  readonly email: string;
  readonly formToken: string;
}): Html {
  return gateLayout(
    'Sign out',
    html`<h1>Sign out?</h1>
<p>You are signed in as <strong>${email}</strong>.</p>
<form class="actions even" method="post" action="/logout">
<input type="hidden" name="form_token" value="${formToken}">
<a class="button" href="/account">Stay</a>
<button class="primary">Sign out</button>
</form>`,
  );
}
