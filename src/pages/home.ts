import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';

export function homePage(): Html {
  return gateLayout(
    'Welcome',
    html`<h1>Your account, on your terms</h1>
<p>Applications ask here before they use your account. You see what they ask for, you decide, and you can change your mind at any time.</p>
<div class="actions even">
<a class="button primary" href="/login">Sign in</a>
<a class="button" href="/signup">Sign up</a>
</div>`,
    html`Building an application? <a href="/dashboard">Register it here</a>`,
  );
}
