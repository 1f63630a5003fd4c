#pragma once

#include <string>

#include "store/store.h"

namespace forebay {

/// Returns one page of the folder `root` + request.prefix, in the order of the file system. The
/// continuation is the position in the directory stream, so every page costs the same and no state
/// is retained between pages.
///
/// Symbolic links are followed. A folder that is one of its own ancestors (by device and inode,
/// from `root` down) is reported in ListPage::circular. Dangling links, sockets, FIFOs and devices
/// are objects of 0 bytes that cannot be read. NotFound if there is no such folder; Cancelled after
/// a stop. It waits for the device, so it must not be called from a compute thread.
Result<ListPage> list_folder(const std::string& root, const ListRequest& request, std::stop_token stop);

}  // namespace forebay
