#!/bin/sh
# Installs the Java that Spark needs, where there is no `java`: 17, or 21 where a release of Debian
# or Ubuntu no longer has 17.
set -eu

if command -v java >/dev/null; then
  exit 0
fi
echo "== installing Java"
as_root=$([ "$(id -u)" = 0 ] || echo sudo)
$as_root apt-get update -qq
for package in openjdk-17-jre-headless openjdk-21-jre-headless; do
  if apt-cache show "$package" >/dev/null 2>&1; then
    $as_root apt-get install -y -qq "$package" >/dev/null
    exit 0
  fi
done
echo "tools/java.sh: no package of Java 17 or 21 here; install one and put java on the PATH" >&2
exit 1
