// Process-wide setup. Throws nothing.
#pragma once

namespace tandem {

// Call it first in main(), before other threads exist. Reserves descriptors 0 to 2 if they are
// closed, so that no file or connection gets them and the output meant for them; reads and writes
// on them still fail. Ignores SIGPIPE and SIGXFSZ, so that such writes fail instead of ending the
// process. Raises the limit of open files up to 65,536, because a rank connects to many others.
void prepare_process();

}  // namespace tandem
