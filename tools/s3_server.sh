#!/bin/sh
# Builds the S3 server that the slow tests of stores in object storage talk to, where it is not
# built yet: versitygw, which checks signatures and conditions as S3 does. Needs Go.
set -eu
cd "$(dirname "$0")/.."

VERSION=v1.8.0
BIN=$PWD/build/versitygw-$VERSION

if [ -x "$BIN/versitygw" ]; then
  exit 0
fi
if ! command -v go >/dev/null; then
  echo "tools/s3_server.sh: no go on the PATH; install Go to test stores in object storage" >&2
  exit 1
fi
echo "== building an S3 server (a minute or two the first time)"
GOBIN=$BIN go install "github.com/versity/versitygw/cmd/versitygw@$VERSION"
