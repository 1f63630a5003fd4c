#pragma once

/* Includes everything that a user of the library needs: the C interface in C, and the C++ interface
 * in C++. */
#ifndef __cplusplus
#include "forebay/c.h"
#else

/// The documentation writes `fb::` for this namespace: `namespace fb = forebay;`.
#include "forebay/batch.h"
#include "forebay/engine.h"
#include "forebay/ledger.h"
#include "forebay/loader.h"
#include "forebay/pipeline.h"
#include "forebay/result.h"
#include "forebay/status.h"
#include "forebay/string_list.h"
#include "forebay/versions.h"

#endif
