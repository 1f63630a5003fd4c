#pragma once

/// Everything a user of the C++ library needs. `namespace fb = forebay;` gives the names of the documentation.
#include "forebay/batch.h"
#include "forebay/loader.h"
#include "forebay/pipeline.h"
#include "forebay/result.h"
#include "forebay/status.h"
#include "forebay/string_list.h"
