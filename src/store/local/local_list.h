#pragma once

#include <string>

#include "store/store.h"

namespace forebay {

/// One page of the folder `root` + request.prefix, in the order of the file system. The continuation is the place in
/// the folder's stream, so pages cost the same wherever they begin and nothing is kept between them.
///
/// Symbolic links are followed. A folder that is one of its own ancestors (by device and inode, from `root` down) is named in
/// ListPage::circular. Links that lead nowhere, and sockets, FIFOs and devices, are objects of 0 bytes, which cannot be read.
/// NotFound where there is no such folder; Cancelled after a stop. Waits for the device: not for a compute thread.
Result<ListPage> list_folder(const std::string& root, const ListRequest& request, std::stop_token stop);

}  // namespace forebay
