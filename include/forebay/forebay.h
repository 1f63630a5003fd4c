#pragma once

/* Everything that a user of the library needs: in C the C interface, in C++ the C++ one. */
#ifndef __cplusplus
#include "forebay/c.h"
#else

/// `namespace fb = forebay;` gives the names of the documentation.
#include "forebay/batch.h"
#include "forebay/engine.h"
#include "forebay/loader.h"
#include "forebay/pipeline.h"
#include "forebay/result.h"
#include "forebay/status.h"
#include "forebay/string_list.h"

#endif
