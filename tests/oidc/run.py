"""Signs users in to a real forebay through a real OpenID Connect provider, like a browser."""

import argparse
import http.cookiejar
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

START_TIMEOUT_SECS = 30
ARGUMENTS = None

CONFIG = """
[server]
listen = "127.0.0.1:{port}"
ops_listen = "127.0.0.1:0"
drain_timeout = "1s"

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
        cls.folder = tempfile.TemporaryDirectory(prefix="forebay-oidc.")
        folder = pathlib.Path(cls.folder.name)
        cls.port, cls.provider_port = free_port(), free_port()
        cls.base = f"http://127.0.0.1:{cls.port}"
        cls.data = ["--data-dir", str(folder / "data")]
        cls.organization = cls.admin("organizations", "create", "--name", "Acme")["id"]
        cls.admin("users", "create", "--email", "bob@example.com", "--organization", cls.organization, "--role", "admin")
        cls.admin("users", "create", "--email", "root@example.com", "--organization", cls.organization, "--role", "admin")
        config = folder / "forebay.toml"
        settings = CONFIG.format(port=cls.port, provider=cls.provider_port, organization=cls.organization)
        config.write_text(settings)
        cls.log = (folder / "forebay.log").open("w+")
        command = [ARGUMENTS.forebay, "serve", "--config", str(config), *cls.data]
        cls.forebay = subprocess.Popen(command, stdout=cls.log, stderr=cls.log, env={"OIDC_SECRET": "a secret"})
        cls.start_provider()
        wait_for(lambda: (folder / "data" / "listen.json").exists())

    @classmethod
    def tearDownClass(cls):
        for child in [cls.forebay, cls.provider]:
            child.terminate()
            child.wait(timeout=15)
        cls.provider.stdout.close()
        cls.log.seek(0)
        cls.log_text = cls.log.read()
        cls.log.close()
        cls.folder.cleanup()

    @classmethod
    def start_provider(cls):
        command = ["node", "provider.mjs", str(cls.provider_port), f"{cls.base}/api/session/oidc/callback"]
        pipe = subprocess.PIPE
        cls.provider = subprocess.Popen(command, cwd=ARGUMENTS.node_folder, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        assert "listening" in cls.provider.stdout.readline()

    @classmethod
    def admin(cls, *arguments):
        output = subprocess.run([ARGUMENTS.forebay, "admin", *arguments, "--json", *cls.data], capture_output=True, check=True)
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
        self.provider.terminate()
        self.provider.wait(timeout=15)
        self.provider.stdout.close()
        type(self).start_provider()
        time.sleep(5.5)  # keys are not fetched more often
        browser, _ = self.sign_in("ada")
        self.assertEqual(self.session(browser)["user"]["email"], "ada@example.com")

    def test_sign_in_methods_include_the_provider(self):
        methods = json.loads(Browser().open(f"{self.base}/api/sign-in-methods")[2])
        self.assertEqual(methods, {"password": True, "oidc": {"name": "Acme login", "url": "/api/session/oidc"}})


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(condition):
    deadline = time.monotonic() + START_TIMEOUT_SECS
    while not condition():
        assert time.monotonic() < deadline, "forebay did not start"
        time.sleep(0.05)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--forebay", required=True)
    parser.add_argument("--node-folder", required=True)
    ARGUMENTS = parser.parse_args()
    unittest.main(argv=[sys.argv[0]], verbosity=2)
