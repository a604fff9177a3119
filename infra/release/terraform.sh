#!/bin/sh
# Terraform's own checks, with the real google provider. Touches no state and no project.
set -eu
cd infra
terraform init -backend=false -input=false
terraform fmt -check -diff -recursive
terraform validate
terraform test
