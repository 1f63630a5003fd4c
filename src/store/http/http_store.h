#pragma once

#include <memory>
#include <string>

#include "store/http/http_options.h"
#include "store/store.h"

namespace forebay {

/// Objects of web servers. Keys are full URLs ("https://host/path/a.jpg?x=1"); a user:password@ in
/// front of the host is used as a login. The store cannot list.
///
/// Each object is pinned to the strong ETag, or else the size, that was first seen of it
/// (ObjectPins). An object that changes is Corrupt and never a mixture of versions. Up to five
/// redirects are followed, but never from https to http. Logins and headers of the options are not
/// sent to another host.
///
/// `headers_only_to`: the origin ("https://host:port") that gets the options' headers. If it is
/// empty, every host that a key names gets them.
std::shared_ptr<Store> http_store(HttpOptions options = {}, std::string headers_only_to = {},
                                  std::shared_ptr<HttpTransport> transport = nullptr);

}  // namespace forebay
