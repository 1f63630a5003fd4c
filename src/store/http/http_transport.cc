#include "store/http/http_transport.h"

namespace forebay {

std::string_view HttpResponse::header(std::string_view name) const {
  for (const HttpHeader& header : headers) {
    if (header.name == name) return header.value;
  }
  return {};
}

}  // namespace forebay
