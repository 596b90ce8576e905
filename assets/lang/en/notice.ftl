# notice

## From the engine
notice-recovered-calls = Nod closed while calls were running: { $count }. Check their targets; none is run again by itself.
notice-folder-disk = This is a whole disk. Nod can read all of it except the blocked places: { $path }
notice-folder-home = This is a home folder. Secrets in it stay blocked, but a smaller folder is safer: { $path }
notice-folder-holds-blocked = Some places in this folder stay blocked: { $path }
