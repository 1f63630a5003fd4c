#pragma once

#include <memory>
#include <string>

#include "store/http/http_options.h"
#include "store/store.h"

namespace forebay {

/// Objects of web servers: keys are full URLs ("https://host/path/a.jpg?x=1"); user:password@ in front of the host is a login.
/// It cannot list.
///
/// An object is pinned to the strong ETag, or else the size, that was seen of it first (ObjectPins): one that changes is Corrupt
/// and never a mixture. Up to five redirects are followed, never from https to http; logins and headers of the options do
/// not go along to another host.
///
/// `headers_only_to`: the origin ("https://host:port") that the options' headers are meant for; empty sends them to every host
/// that a key names.
std::shared_ptr<Store> http_store(HttpOptions options = {}, std::string headers_only_to = {},
                                  std::shared_ptr<HttpTransport> transport = nullptr);

}  // namespace forebay
