#pragma once

#include "base/source.h"
