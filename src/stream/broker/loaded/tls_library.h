#pragma once

#include "stream/broker/tls_context.h"

namespace forebay {

/// What libforebay_http.so gives the sources of brokers: its function forebay_tls_v1 returns it.
struct TlsLibrary {
  decltype(&check_tls_options) check;
};

}  // namespace forebay
