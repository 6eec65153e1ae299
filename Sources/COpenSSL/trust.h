// For accounts and certificates: what Swift cannot see of OpenSSL's headers. No logic.
#pragma once
#include "openssl.h"
