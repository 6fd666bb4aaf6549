"""Signs users in to a real forebay through a real OpenID Connect provider, like a browser."""

import http.cookiejar
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from testbed import FOREBAY, ROOT, Testbed, send, wait_until  # noqa: E402

SERVER = """
drain_timeout = "1s"
trusted_proxies = ["127.0.0.1/32"]
"""
CONFIG = """
[oidc]
issuer = "http://127.0.0.1:{provider}"
client_id = "forebay"
client_secret_env = "OIDC_SECRET"
name = "Acme login"
scopes = ["email", "groups"]
groups_claim = "groups"
organization = "{organization}"
admin_groups = ["platform"]
member_groups = ["staff"]
"""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Browser:
    def __init__(self):
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar), NoRedirect())

    def open(self, url, form=None):
        """Status, redirect target and text of a response; redirects are not followed."""
        data = urllib.parse.urlencode(form).encode() if form is not None else None
        try:
            response = self.opener.open(urllib.request.Request(url, data), timeout=20)
        except urllib.error.HTTPError as error:
            response = error
        location = response.headers.get("location")
        return response.status, location and urllib.parse.urljoin(url, location), response.read().decode()

    def call(self, method, url, body=None, address=None):
        """Status and JSON of an API call, with the CSRF token of the session, from this address."""
        headers = {"content-type": "application/json"} | ({"x-forwarded-for": address} if address else {})
        base = "/".join(url.split("/")[:3])
        session = json.loads(self.open(f"{base}/api/session")[2])
        headers |= {"x-csrf-token": session["csrfToken"]} if session["user"] else {}
        response = send(url, body, headers, method, self.opener.open)
        return response.status, response.json() if response.text else None

    def follow(self, url, until, form=None):
        """Follows redirects to the first location that starts with `until`, or to the final page."""
        for _ in range(12):
            _, location, text = self.open(url, form)
            if location is None:
                return url, text
            if location.startswith(until):
                return location, ""
            url, form = location, None
        raise AssertionError("too many redirects")


class SignInTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="forebay-oidc.")))
        cls.port, cls.provider_port = free_port(), free_port()
        cls.base = f"http://127.0.0.1:{cls.port}"
        cls.data = ["--data-dir", str(folder / "data")]
        cls.organization = cls.admin("organizations", "create", "--name", "Acme")["id"]
        cls.admin("users", "create", "--email", "bob@example.com", "--organization", cls.organization, "--role", "admin")
        root = ["--email", "root@example.com", "--password", "root's password", "--operator"]
        cls.admin("users", "create", *root, "--organization", cls.organization, "--role", "admin")
        cls.groups = folder / "groups.json"
        cls.start_provider()
        cls.addClassCleanup(lambda: cls.stop_provider())
        tables = CONFIG.format(provider=cls.provider_port, organization=cls.organization)
        cls.enterClassContext(Testbed()).gateway(
            tables, server=SERVER, port=cls.port, dataDir=str(folder / "data"), environment={"OIDC_SECRET": "a secret"}
        )

    @classmethod
    def start_provider(cls):
        command = [ROOT / "scripts/oidc-provider", str(cls.provider_port), f"{cls.base}/api/session/oidc/callback", cls.groups]
        cls.provider = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert "listening" in cls.provider.stdout.readline()

    @classmethod
    def stop_provider(cls):
        cls.provider.terminate()
        cls.provider.wait(timeout=15)
        cls.provider.stdout.close()

    @classmethod
    def admin(cls, *arguments):
        output = subprocess.run([FOREBAY, "admin", *arguments, "--json", *cls.data], capture_output=True, check=True)
        return json.loads(output.stdout)

    def callback(self, browser, login):
        """Signs in at the provider and returns the callback URL it redirects to."""
        status, location, _ = browser.open(f"{self.base}/api/session/oidc")
        self.assertEqual(status, 303)
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(location).query)
        self.assertEqual(query["code_challenge_method"], ["S256"])
        self.assertTrue(query["state"] and query["nonce"] and query["code_challenge"])
        url, page = browser.follow(location, f"{self.base}/")
        while not url.startswith(f"{self.base}/"):
            action = urllib.parse.urljoin(url, re.search(r'action="([^"]+)"', page).group(1))
            form = {"prompt": re.search(r'name="prompt" value="([^"]+)"', page).group(1)}
            form |= {"login": login, "password": "x"} if form["prompt"] == "login" else {}
            url, page = browser.follow(action, f"{self.base}/", form)
        return url

    def sign_in(self, login):
        browser = Browser()
        status, location, _ = browser.open(self.callback(browser, login))
        self.assertEqual(status, 303)
        return browser, location

    def session(self, browser):
        return json.loads(browser.open(f"{self.base}/api/session")[2])

    def with_password(self, email, password, address="192.0.2.1"):
        """A browser, and the status of its sign-in."""
        browser = Browser()
        credentials = {"email": email, "password": password}
        return browser, browser.call("POST", f"{self.base}/api/session", credentials, address)[0]

    def set_groups(self, login, groups):
        """Changes the groups of a user at the provider."""
        self.groups.write_text(json.dumps({login: groups}))

    def actions(self, organization):
        """The actions in the audit log of an organization."""
        root, status = self.with_password("root@example.com", "root's password", "192.0.2.200")
        self.assertEqual(status, 200)
        root.call("PUT", f"{self.base}/api/session/context", {"organizationId": organization})
        _, log = root.call("GET", f"{self.base}/api/organizations/{organization}/audit?limit=500")
        return [(entry["action"], entry["subject"]) for entry in log["data"]]

    def works(self, key):
        status = send(f"{self.base}/v1/models", headers={"authorization": f"Bearer {key}"}).status
        self.assertIn(status, [200, 401])
        return status == 200

    def test_an_account_prepared_by_an_invitation_does_not_survive_the_owners_first_sign_in(self):
        theirs = self.admin("organizations", "create", "--name", "Attackers")["id"]
        self.admin("users", "create", "--email", "mallory@example.com", "--password", "mallory's password",
                   "--organization", theirs, "--role", "admin")
        mallory, status = self.with_password("mallory@example.com", "mallory's password")
        self.assertEqual(status, 200)
        invitation = {"email": "ceo@example.com", "role": "admin"}
        status, invited = mallory.call("POST", f"{self.base}/api/organizations/{theirs}/invitations", invitation)
        self.assertEqual(status, 201)
        prepared = Browser()
        acceptance = {"token": invited["url"].split("#")[1], "password": "mallory's second"}
        self.assertEqual(prepared.call("POST", f"{self.base}/api/invitations/accept", acceptance)[0], 200)
        account = self.session(prepared)["user"]["id"]
        self.assertEqual(self.with_password("ceo@example.com", "mallory's second")[1], 200)

        owner, _ = self.sign_in("ceo")
        session = self.session(owner)
        self.assertEqual(session["user"]["id"], account)
        self.assertEqual([(one["id"], one["role"]) for one in session["organizations"]], [(self.organization, "admin")])
        self.assertEqual(self.session(prepared), {"user": None})
        self.assertEqual(self.with_password("ceo@example.com", "mallory's second")[1], 401)
        self.assertIn(("user.take-over", account), self.actions(self.organization))
        self.assertIn(("member.remove", account), self.actions(theirs))
        self.assertTrue(self.admin("users", "show", "--email", "ceo@example.com")["emailProven"])
        again, _ = self.sign_in("ceo")
        self.assertEqual(self.session(owner)["user"]["id"], self.session(again)["user"]["id"], "nothing ends twice")

    def test_leaving_all_groups_ends_the_membership(self):
        before, _ = self.sign_in("carl")
        self.assertEqual(self.session(before)["organizations"][0]["role"], "admin")
        self.set_groups("carl", [])
        after, location = self.sign_in("carl")
        self.assertEqual(location, f"{self.base}/")
        user = self.session(after)["user"]["id"]
        for browser in [before, after]:
            self.assertEqual(self.session(browser)["organizations"], [])
            self.assertEqual(browser.call("GET", f"{self.base}/api/workspaces")[1]["code"], "no_organization_context")
        self.assertIn(("member.remove", user), self.actions(self.organization))
        self.set_groups("carl", ["staff"])
        back, _ = self.sign_in("carl")
        self.assertEqual(self.session(back)["organizations"][0]["role"], "member")

    def test_the_keys_of_a_user_who_left_are_listed_and_revoked_together(self):
        workspace = self.admin("workspaces", "create", "--organization", self.organization, "--name", "Lab")["id"]
        dora, _ = self.sign_in("dora")
        user = self.session(dora)["user"]["id"]
        self.admin("users", "set", user, "--add-workspace", workspace)
        _, made = dora.call("POST", f"{self.base}/api/workspaces/{workspace}/keys", {"name": "laptop"})
        self.set_groups("dora", ["guests"])
        self.sign_in("dora")
        self.assertTrue(self.works(made["key"]), "programs depend on it")
        selection = ["--organization", self.organization, "--removed-members"]
        listed = self.admin("keys", "list", *selection)["data"]
        self.assertEqual([(one["id"], one["creator"]["email"]) for one in listed], [(made["id"], "dora@example.com")])
        revoked = self.admin("keys", "revoke-all", *selection)["data"]
        self.assertEqual([(one["id"], one["state"]) for one in revoked], [(made["id"], "revoked")])
        wait_until("the key does not work", lambda: not self.works(made["key"]))

    def test_guessing_does_not_lock_out_a_user_who_is_elsewhere(self):
        self.admin("users", "create", "--email", "fay@example.com", "--password", "fay's password",
                   "--organization", self.organization)
        attempts = [self.with_password("fay@example.com", "a guess", "198.51.100.9")[1] for _ in range(12)]
        self.assertEqual(attempts, [401] * 10 + [429] * 2)
        self.assertEqual(self.with_password("fay@example.com", "fay's password", "198.51.100.9")[1], 429)
        fay, status = self.with_password("fay@example.com", "fay's password", "192.0.2.77")
        self.assertEqual(status, 200)
        # Her browser is known now, and may come from the attackers' address.
        credentials = {"email": "fay@example.com", "password": "fay's password"}
        self.assertEqual(fay.call("POST", f"{self.base}/api/session", credentials, "198.51.100.9")[0], 200)

    def test_a_new_user_gets_an_account_and_the_role_of_their_groups(self):
        browser, location = self.sign_in("ada")
        self.assertEqual(location, f"{self.base}/")
        session = self.session(browser)
        self.assertEqual(session["user"]["email"], "ada@example.com")
        self.assertEqual([(one["id"], one["role"]) for one in session["organizations"]], [(self.organization, "admin")])
        cookie = next(cookie for cookie in browser.jar if cookie.name == "forebay_session")
        self.assertTrue(cookie.has_nonstandard_attr("HttpOnly"))
        again, _ = self.sign_in("ada")
        self.assertEqual(self.session(again)["user"]["id"], session["user"]["id"])

    def test_an_account_is_matched_by_verified_email_and_gets_the_role_of_its_groups(self):
        before = self.admin("users", "show", "--email", "bob@example.com")
        browser, _ = self.sign_in("bob")
        session = self.session(browser)
        self.assertEqual((session["user"]["id"], session["organizations"][0]["role"]), (before["id"], "member"))

    def test_users_without_verified_email_or_group_are_rejected(self):
        for login, error in [("eve", "email_not_verified"), ("guest", "no_account")]:
            browser, location = self.sign_in(login)
            self.assertEqual(location, f"{self.base}/sign-in?error={error}")
            self.assertEqual(self.session(browser), {"user": None})

    def test_a_callback_is_valid_once_and_for_one_browser(self):
        browser = Browser()
        url = self.callback(browser, "ada")
        self.assertIn("error=sign_in_failed", Browser().open(url)[1])
        self.assertEqual(browser.open(url)[1], f"{self.base}/")
        self.assertIn("error=sign_in_failed", browser.open(url)[1])
        for query in ["", "?error=access_denied&state=x", "?code=x&state=y", "?code=x"]:
            self.assertIn("error=sign_in_failed", Browser().open(f"{self.base}/api/session/oidc/callback{query}")[1])

    def test_new_provider_keys_are_fetched(self):
        self.sign_in("ada")
        self.stop_provider()
        self.start_provider()
        # Keys are fetched at most every five seconds.
        wait_until("a sign-in with the new keys", lambda: self.sign_in("ada")[1] == f"{self.base}/")

    def test_sign_in_methods_include_the_provider(self):
        methods = json.loads(Browser().open(f"{self.base}/api/sign-in-methods")[2])
        self.assertEqual(methods, {"password": True, "oidc": {"name": "Acme login", "url": "/api/session/oidc"}})


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


if __name__ == "__main__":
    unittest.main(verbosity=2)
